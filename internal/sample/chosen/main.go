// Command chosen prints which parts of the divided proofs INTERLUDE_SAMPLE selects.
package main

import (
	"fmt"

	"github.com/interlude-go/interlude/internal/sample"
)

func main() {
	for _, line := range sample.Parts() {
		fmt.Println(line)
	}
}
