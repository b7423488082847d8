package command

import (
	"flag"
	"os"
	"strconv"
	"strings"
)

// Prefix begins the names of the variables that set the flags of interlude.
const Prefix = "INTERLUDE_"

// Variable is the name of the variable for a flag: INTERLUDE_FORKED_FROM for -forked-from.
func Variable(prefix, flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Platform is the variable that lets flags of interlude be set by the variables of hosting platforms,
// after its own: -db by DATABASE_URL, and the port of -listen by PORT. The image sets it.
const Platform = Prefix + "PLATFORM"

// platformVariable returns the variable of a hosting platform for a flag, and the flag's value.
func platformVariable(flag string) (variable, value string) {
	switch flag {
	case "db":
		variable = "DATABASE_URL"
		value = os.Getenv(variable)
	case "listen":
		variable = "PORT"
		if value = os.Getenv(variable); value != "" {
			value = "0.0.0.0:" + value
		}
	}
	return variable, value
}

// FromEnvironment sets each flag that the command line does not set from its variable, unless the
// variable is empty. A repeatable flag gets each line. It returns the names of the flags that it has
// set.
func FromEnvironment(flags *flag.FlagSet, prefix string) (set []string, err error) {
	platform := false
	if text := os.Getenv(Platform); text != "" && prefix == Prefix {
		if platform, err = strconv.ParseBool(text); err != nil {
			return nil, Misusef("$%s is %.80q, want true or false", Platform, text)
		}
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		variable := Variable(prefix, f.Name)
		text := os.Getenv(variable)
		if text == "" && platform {
			variable, text = platformVariable(f.Name)
		}
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
