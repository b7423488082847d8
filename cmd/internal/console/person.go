package console

import (
	"flag"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/lifecycle"
)

// via names this program in the history of a run.
const via = "cli"

type person struct {
	id     string
	of     string // the absent person for whom the person acts
	groups []string
}

func newPerson(f *flag.FlagSet, id string) *person {
	p := &person{id: id}
	f.StringVar(&p.id, "as", p.id, "the `person` who acts")
	f.Func("group", "a `group` of the person (repeatable)", func(name string) error {
		p.groups = append(p.groups, name)
		return nil
	})
	return p
}

// NewActor adds the flags -as, with the logged-in user as default, and -group. The function that it
// returns is called after the flags are parsed.
func NewActor(f *flag.FlagSet) func() (lifecycle.Actor, error) { return newPerson(f, self()).actor }

func (p *person) actor() (lifecycle.Actor, error) {
	if p.id == "" {
		return lifecycle.Actor{}, command.Misusef("want the person who acts: name one with -as")
	}
	return lifecycle.Actor{ID: p.id, Groups: p.groups, Via: via, For: p.of}, nil
}

func self() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}

// theOnly returns the number of the flag -question, or without it the only number of a list. what
// names the list in the plural.
func theOnly(number int, run, what string, all []int) (int, error) {
	switch {
	case number != 0:
		return number, nil
	case len(all) == 1:
		return all[0], nil
	case len(all) == 0:
		return 0, command.Refusef("run %s has no %s", run, what)
	}
	numbers := make([]string, len(all))
	for i, n := range all {
		numbers[i] = strconv.Itoa(n)
	}
	return 0, command.Misusef("run %s has %d %s: choose one with -question %s", run, len(all), what,
		strings.Join(numbers, " or "))
}

// openNumbers returns the numbers of the run's open questions.
func openNumbers(run *lifecycle.Run) []int {
	all := make([]int, len(run.Open))
	for i := range run.Open {
		all[i] = run.Open[i].ID
	}
	return all
}
