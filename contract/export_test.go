package contract

// Helpers shared by package contract_test and this package: separate packages, because package
// audit, which they use, imports this one.
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
