// moment
