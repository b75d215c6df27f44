package main
func (o *oracle) level3(do string, r request) (answer, error) { return nil, refuse(internal, "none") }
