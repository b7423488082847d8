package command

import (
	"flag"
	"os"
	"strings"
)

// Prefix begins the names of the variables that set the flags of interlude.
const Prefix = "INTERLUDE_"

// Variable is the name of the variable for a flag: INTERLUDE_FORKED_FROM for -forked-from.
func Variable(prefix, flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// FromEnvironment sets each flag that the command line does not set from its variable, unless the
// variable is empty. A repeatable flag gets each line. It returns the names of the flags that it has
// set.
func FromEnvironment(flags *flag.FlagSet, prefix string) (set []string, err error) {
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		variable := Variable(prefix, f.Name)
		text := os.Getenv(variable)
		if err != nil || given[f.Name] || text == "" {
			return
		}
		values := []string{text}
		if strings.Contains(f.Usage, "(repeatable)") {
			values = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		}
		for _, value := range values {
			if fault := flags.Set(f.Name, value); fault != nil && err == nil {
				err = Misusef("$%s is %.80q: %w", variable, value, fault)
			}
		}
		set = append(set, f.Name)
	})
	return set, err
}
