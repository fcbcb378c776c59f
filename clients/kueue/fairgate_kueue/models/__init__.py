"""One module for each model; fairgate_kueue has them all. It must never be edited by hand."""
