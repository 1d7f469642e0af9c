"""One HTML page from folders: text from the numbers, figures inline, no request to anywhere."""
import pathlib

import jinja2
import markupsafe

from . import common, cost_figure, gantt, heat, money, run_figures, scatter, sheet, sweep_figures, tables, verdict
from .files import Unusable, damage

RUN_FIGURES = (run_figures.losses, cost_figure.cost, run_figures.paired, gantt.participants, gantt.gantt)
SWEEP_FIGURES = (sweep_figures.utilization, sweep_figures.goodput, sweep_figures.time_to_loss, heat.heat_map, scatter.scatter,
                 sweep_figures.badput, sweep_figures.paired)
FOR_RUNS = ("Utilization against bandwidth, goodput against chips, time to loss against H and heat maps need a sweep: "
            "skerry sweep, with an axis over that key.")
FOR_SWEEPS = ("Loss curves, a fault on one time axis, participants beside live learners and cost against time need one run: "
              "skerry run of one point.")


def figures_of(folder):
    """(figures, sentences on what is not shown)."""
    if folder.kind == "run":
        part = [name for name in folder.shown if folder.scenario["protocols"].get(name, {}).get("only_islands")]
        made = [run_figures.badput([(name, folder.by_protocol[name]) for name in folder.shown])]
        made[0].note += f" Of its own islands alone: {common.join_names(part)}." if part else ""
        made += [make(folder) for make in RUN_FIGURES]
        made.append(common.NotShown(FOR_RUNS))
    else:
        made = [make(folder) for make in SWEEP_FIGURES] + [common.NotShown(FOR_SWEEPS)]
    return ([figure for figure in made if isinstance(figure, common.Figure)],
            [text for text in made if isinstance(text, common.NotShown)])


def drawn(figure, prefix):
    """What the template needs of a figure: the SVG for wide and for narrow pages, and its numbers."""
    out = {"id": f"{prefix}{figure.name}", "title": figure.title, "description": figure.description, "note": figure.note,
           "columns": figure.columns, "rows": figure.rows[:common.MOST_TABLE_ROWS], "all_rows": len(figure.rows),
           "source": figure.source}
    for size, width in (("wide", sheet.WIDE), ("narrow", sheet.NARROW)):
        page = figure.draw(width)
        svg = sheet.svg_of(page, f"{out['id']}-{size}", figure.title, figure.description)
        out[size] = {"svg": markupsafe.Markup(svg), "width": page.width, "fits": page.width <= width}
    return out


def section(folder, number, several):
    figures, not_shown = figures_of(folder)
    prefix = f"f{number}-" if several else ""
    is_run = folder.kind == "run"
    scenario = folder.scenario if is_run else folder.design.get("scenario", {})
    about = scenario.get("about") if is_run else folder.about or scenario.get("about")
    out = {"kind": folder.kind, "name": folder.name, "id": f"{folder.kind}-{number}", "about": about or "",
           "notices": folder.notices, "verdict": verdict.of_run(folder) if is_run else verdict.of_sweep(folder),
           "figures": [drawn(figure, prefix) for figure in figures], "not_shown": not_shown, "command": folder.command,
           "path": str(folder.path), "warnings": folder.warnings, "points": len(folder.rows),
           "transport": tables.transport(scenario, () if is_run else tables.swept(folder)),
           "versions": tables.versions(folder.manifest)}
    if is_run:
        out["tables"] = [("Comparison", *tables.comparison(folder)), *money.tables(folder)]
        out["notes"] = tables.notes(folder) + money.notes(folder)
    else:
        out["tables"] = [(common.axis_title(metric), columns, rows) for metric, columns, rows in tables.pivots(folder)]
        out["notes"] = ["Mean over the seeds [95 % interval, Student t], n seeds; – where nothing ran. A time to a loss is "
                        "the mean over the seeds that reached it. Claims (expect) are not judged by a sweep."]
    return out, figures


def html_of(folders, words):
    """(text of the page, [(folder number, Figure)]). words: the command line that makes this report."""
    sections, figures = [], []
    for number, folder in enumerate(folders, 1):
        with damage(folder.path):  # what no check of a single file has seen
            made, drawn_figures = section(folder, number, len(folders) > 1)
        sections.append(made)
        figures += [(number, figure) for figure in drawn_figures]
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(pathlib.Path(__file__).parent), autoescape=True,
                                     undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = environment.get_template("page.html").render(
        sections=sections, width_of=tables.width_of, title=", ".join(made["name"] for made in sections), command=words,
        light=markupsafe.Markup(sheet.palette(sheet.LIGHT)), dark=markupsafe.Markup(sheet.palette(sheet.DARK)))
    return text, figures


def check_places(out, figures):
    """Refuses, before anything is written, what cannot be: a folder for a file, a file for a folder."""
    if out.is_dir():
        raise Unusable(f"--out {out}: is a folder; name a file")
    if not out.parent.is_dir():
        raise Unusable(f"--out {out}: there is no folder {out.parent}")
    if figures:
        there = next(place for place in (figures, *figures.parents) if place.exists())
        if not there.is_dir():
            raise Unusable(f"--figures {figures}: {there} is a file; name a folder")


def write_all(out, text, figures, folder, several):
    """The page, and with a folder each figure as a file of its own: NAME.svg, or N-NAME.svg with several results."""
    files = {}
    for number, figure in figures if folder else []:
        name = f"{number}-{figure.name}" if several else figure.name
        svg = sheet.svg_of(figure.draw(sheet.WIDE), figure.name, figure.title, figure.description, standalone=True)
        files[folder / f"{name}.svg"] = svg + "\n"
    for path in files:
        if path.is_dir():
            raise Unusable(f"{path}: is a folder where a figure would be written")
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    for path, content in {**files, out: text}.items():
        write(path, content)


def write(path, text):
    """Files appear by rename; a failed one leaves nothing."""
    scratch = path.with_name(path.name + ".part")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    except OSError:
        scratch.unlink(missing_ok=True)
        raise
