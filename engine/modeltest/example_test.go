package modeltest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/interlude-go/interlude/engine/modeltest"
)

// An agent configured with the server's URL gets the answer scripted in the user's text.
func Example() {
	model, err := modeltest.Start(modeltest.Config{})
	if err != nil {
		panic(err)
	}
	defer model.Close()

	// the request an agent would send
	question := `{"messages": [{"role": "user", "content": "Greet me.\n:: final Hello, Ada."}]}`
	resp, err := http.Post(model.URL+"/v1/chat/completions", "application/json", strings.NewReader(question))
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(strings.Contains(string(body), "Hello, Ada."))

	_ = model.Await(context.Background(), func(all []modeltest.Request) bool { return len(all) == 1 && all[0].Ended })
	fmt.Println(model.Requests()[0].API, model.Requests()[0].Plan)
	// Output:
	// true
	// chat text
}
