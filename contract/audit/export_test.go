package audit

// Slim is whether a checker keeps the ends of runs in short. A test may turn it off.
func Slim(c *Checker) *bool { return &c.closed.slim }
