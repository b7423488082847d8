package contract

// What the tests of package contract_test share with those of this package: these are beside it
// because package audit, which they use, imports this one.
var (
	GateFacts  = gateFacts
	Impossible = impossible
)

// BrokenLaw names the first law that a contract breaks, or is empty.
func BrokenLaw(l *Lifecycle) string {
	for _, law := range laws() {
		if law.holds(l) != "" {
			return law.name
		}
	}
	return ""
}
