"""Reports in a headless Chromium: nothing asked of any host, nothing empty, nothing cut off, nothing too pale or small."""
import json
import socket
import unittest

import folders
from folders import EVIL, FOLDER, ReportTest, made, page
from selenium import webdriver
from selenium.webdriver.chrome.service import Service


def knows_localhost():
    """Driver and browser find each other by that name; a bare chroot has no /etc/hosts."""
    try:
        return bool(socket.getaddrinfo("localhost", 80))
    except OSError:
        return False


FIGURES = """
return [...document.querySelectorAll('figure')].map(figure => {
  const shown = [...figure.querySelectorAll('svg')].filter(svg => svg.getBoundingClientRect().width > 0);
  const svg = shown[0], box = svg.getBoundingClientRect();
  const seen = e => e.getBoundingClientRect().width + e.getBoundingClientRect().height > 0;
  const inside = [...svg.querySelectorAll('text,path')].filter(seen);
  const cut = [...svg.querySelectorAll('text')].filter(e => {
    const text = e.getBoundingClientRect();
    return text.left < box.left - 1 || text.right > box.right + 1 || text.top < box.top - 1 || text.bottom > box.bottom + 1;
  });
  return {id: figure.id, shown: shown.length, width: box.width, height: box.height,
          paths: inside.filter(e => e.tagName == 'path').length, texts: inside.filter(e => e.tagName == 'text').length,
          label: svg.getAttribute('aria-labelledby').split(' ').map(id => document.getElementById(id).textContent),
          cut: cut.map(e => e.textContent), rows: figure.querySelectorAll('details tbody tr').length};
});"""
# Every text that is seen: its size in pixels as drawn, and its contrast to what lies behind it.
TEXTS = """
const channel = c => (c /= 255) <= 0.04045 ? c / 12.92 : Math.pow((c + 0.055) / 1.055, 2.4);
const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
const paper = numbers(getComputedStyle(document.body).backgroundColor);
const behind = e => {
  const box = e.getBoundingClientRect();
  const stack = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  for (const under of stack.slice(stack.indexOf(e) + 1)) {
    if (!(under instanceof SVGGeometryElement)) continue;
    const style = getComputedStyle(under), fill = numbers(style.fill);
    if (style.fill.startsWith('rgb(') && style.fillOpacity == 1) return fill;
  }
  return paper;
};
const found = [];
const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const e = walker.currentNode.parentElement, text = walker.currentNode.textContent.trim();
  const box = e.getBoundingClientRect();
  if (!text || box.width == 0 || ['STYLE', 'TITLE'].includes(e.tagName) || e.closest('title,desc,defs')) continue;
  const style = getComputedStyle(e), drawn = e instanceof SVGElement;
  const scale = drawn ? e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width : 1;
  const a = light(numbers(drawn ? style.fill : style.color)), b = light(drawn ? behind(e) : paper);
  found.push([text, parseFloat(style.fontSize) * scale, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
}
return found;"""
OVERFLOWING = """
const main = document.querySelector('main').getBoundingClientRect();
return [document.documentElement.scrollWidth - innerWidth,
        [...document.querySelectorAll('main *')].filter(
            e => !e.closest('.box') && e.getBoundingClientRect().right > main.right + 1).map(e => e.tagName)];"""


# Tables whose right side is cut, and those of them that say so.
CUT = """
const cut = [...document.querySelectorAll('.table')].filter(e => !e.closest('details') && e.scrollWidth > e.clientWidth + 1);
const told = e => e.previousElementSibling.matches('.goes-on') && e.previousElementSibling.offsetHeight > 0;
return [cut.map(e => e.getAttribute('aria-label')), cut.filter(told).map(e => e.getAttribute('aria-label'))];"""


@unittest.skipUnless(knows_localhost(), "this system does not know the name localhost")
class Browser(ReportTest):
    @classmethod
    def setUpClass(cls):
        options = webdriver.ChromeOptions()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", f"--user-data-dir={FOLDER}/profile"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        cls.driver.set_page_load_timeout(60)
        cls.addClassCleanup(cls.driver.quit)

    def open(self, path, width=1280, dark=False):
        command = self.driver.execute_cdp_cmd
        command("Emulation.setDeviceMetricsOverride",
                {"width": width, "height": 9000, "deviceScaleFactor": 1, "mobile": False})
        command("Emulation.setEmulatedMedia",
                {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.driver.get_log("performance")
        self.driver.get(path.as_uri())

    def requests(self):
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def check_page(self, path, figures):
        for width in (1280, 400):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    self.open(path, width, dark)
                    self.assertEqual([url for url in self.requests() if not url.startswith("data:")], [path.as_uri()])
                    self.assertEqual(self.driver.get_log("browser"), [])
                    over, cut = self.driver.execute_script(OVERFLOWING)
                    self.assertLessEqual(over, 0)
                    self.assertEqual(cut, [])
                    self.check_figures(figures)
                    self.check_texts(dark)

    def check_figures(self, figures):
        found = self.driver.execute_script(FIGURES)
        self.assertEqual({figure["id"] for figure in found}, figures)
        for figure in found:
            self.assertEqual(figure["shown"], 1, figure)
            self.assertGreater(min(figure["width"], figure["height"]), 100, figure)
            self.assertGreater(min(figure["paths"], figure["texts"]), 3, figure)
            self.assertTrue(all(len(text) > 5 for text in figure["label"]), figure)
            self.assertGreater(figure["rows"], 0, figure)
            self.assertEqual(figure["cut"], [], figure["id"])

    def check_texts(self, dark):
        texts = self.driver.execute_script(TEXTS)
        self.assertGreater(len(texts), 150)
        self.assertEqual([text for text in texts if text[1] < 9.4], [])   # pixels, as drawn
        self.assertEqual([text for text in texts if text[2] < 4.5], [])
        paper = self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.assertEqual(paper, "rgb(21, 23, 28)" if dark else "rgb(255, 255, 255)")

    def test_a_run(self):
        self.check_page(page("run", made("run")), folders.RUN_FIGURES)

    def test_a_sweep(self):
        self.check_page(page("ports", made("ports")), folders.PORT_FIGURES)

    def test_time_to_loss(self):
        self.check_page(page("periods", made("periods")), {"time-to-loss", "badput", "paired"})

    def test_names_of_strangers_run_nothing(self):
        self.open(page("evil", folders.evil_run()))
        script = "return [document.querySelectorAll('script,img,main b').length, document.querySelector('h1').textContent]"
        self.assertEqual(self.driver.execute_script(script), [0, EVIL])   # an open alert would be an error here
        self.assertIn(f"{EVIL} has", self.driver.execute_script("return document.body.textContent"))
        drawn = self.driver.execute_script("return [...document.querySelectorAll('svg text')].map(e => e.textContent)")
        self.assertIn(EVIL, drawn)
        self.assertIn(folders.FORMULA_LIKE, drawn)
        self.assertEqual(self.driver.get_log("browser"), [])
        self.assertEqual(len([url for url in self.requests() if not url.startswith("data:")]), 1)

    def test_tables_that_go_on(self):
        self.open(page("run", made("run")))
        self.assertEqual(self.driver.execute_script(CUT), [[], []])
        self.open(page("run", made("run")), 400)
        cut, told = self.driver.execute_script(CUT)
        self.assertIn("Comparison", cut)
        self.assertEqual(cut, told)

    def test_paper(self):
        self.open(page("run", made("run")), dark=True)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        shown = "return [getComputedStyle(document.body).backgroundColor, document.querySelector('details').offsetHeight, " \
                "document.querySelector('p.paper').offsetHeight > 0, " \
                "[...document.querySelectorAll('figure,tbody tr')].every(e => getComputedStyle(e).breakInside == 'avoid'), " \
                "document.querySelector('figure .wide svg').getBoundingClientRect().height > 100]"
        self.assertEqual(self.driver.execute_script(shown), ["rgb(255, 255, 255)", 0, True, True, True])
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


if __name__ == "__main__":
    unittest.main()
