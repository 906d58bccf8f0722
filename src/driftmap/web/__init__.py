"""What a browser is given: columns of a map, the wire protocol, pages made of the ES modules in `static`."""
