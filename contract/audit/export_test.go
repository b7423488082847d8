package audit

// Slim returns the switch for slim ends of runs. A test may turn it off.
func Slim(c *Checker) *bool { return &c.closed.slim }
