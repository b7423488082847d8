package interaction_test

import (
	"fmt"

	"github.com/interlude-go/interlude/interaction"
)

// A turn that ends with a question: the text for people, and the question.
func ExampleRead() {
	r := interaction.Read(`Two regions are free.

<ASK_USER_YAML>
kind: choose_one
prompt: Which region?
options: [Frankfurt, Dublin]
</ASK_USER_YAML>`, nil)
	fmt.Println(r.Text)
	fmt.Println(r.Question.Kind, r.Question.Prompt, len(r.Question.Options), r.Done)
	// Output:
	// Two regions are free.
	// choose_one Which region? 2 false
}

// A turn that is done: the marker on a separate line next to the output.
func ExampleRead_done() {
	r := interaction.Read("{\"region\": \"Dublin\"}\n__SKILL_DONE__\n", nil)
	fmt.Println(r.Done, string(r.Output), r.Question == nil)
	// Output: true {"region": "Dublin"} true
}

// A reply is any text; its faults are reported before anything is stored.
func ExampleReply_Validate() {
	fmt.Println(interaction.Reply{ID: 1, Text: "the first, please"}.Validate())
	fmt.Println(interaction.Reply{ID: 1, Text: "  "}.Validate())
	// Output:
	// <nil>
	// interaction: invalid reply: Text is blank, want a text
}
