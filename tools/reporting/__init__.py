"""What tools/report is made of: folders are read, figures drawn, sentences made from numbers, one page written."""
