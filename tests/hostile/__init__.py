"""Files and values from outside that would do harm: each is refused, or does nothing outside its folder."""
