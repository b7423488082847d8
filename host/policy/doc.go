// Package policy decides about approvals by rules in a file, as a lifecycle.Config.Policy:
//
//	version: "7"
//	rules:
//	  - rule: small-refunds
//	    when: tool == "refund" && arguments.amount <= 50
//	    do: approve
//	  - rule: no-drop
//	    when: tool == "sql" && arguments.query.matches("(?i)drop +table")
//	    do: reject
//	    reason: Tables are dropped by migrations only.
//	  - rule: large
//	    when: tool == "refund" && arguments.amount > 1000
//	    do: ask
//	    to: {groups: [finance]}
//	    need: 2
//
// The first rule whose condition holds decides. Without one, people are asked, as the question says.
// Conditions are expressions in CEL (https://cel.dev) over these variables:
//
//	tool, title, risk      strings of the call; tool is the name
//	arguments              the call's arguments; null without any
//	labels                 the run's labels
//	engine, pool, key      strings of the run
//	run, submitter         its id, and Spec.Submitter
//	asked                  the time of the question, for example asked.getHours("Europe/Berlin")
//	rulings                how often this rule has approved or rejected questions of the run
//
// A condition that fails, for example because an argument is missing, ends the evaluation: people
// are asked, so that a rule below never approves a call that a rule above could not judge. The same
// holds for a number in the arguments that CEL cannot hold exactly, for members of an object whose
// names differ only in case, and for a condition that needs more than MaxCost. Guard arguments with
// the tool's name, since "false && error" is false.
//
// Change the version with the rules: history and events name rule and version, so they say which
// file decided while two versions run next to each other.
//
// The package uses lifecycle and interaction. Its neighbours are host/all, which wires a host, and
// the program interlude, which reads the file and tests it against recorded questions.
package policy
