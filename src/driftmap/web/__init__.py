"""Data and pages for the browser: columns of a map, the wire protocol, pages built from the ES modules in `static`."""
