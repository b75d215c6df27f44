// Command promql reads PromQL expressions, one a line, and responds to each with a line of JSON: what Prometheus' own parser
// says is wrong with it, or which series it selects. It knows no metrics.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

type answer struct {
	Error     string     `json:"error,omitempty"`
	Selectors []selector `json:"selectors,omitempty"`
}

// selector is one vector selector, such as up{job="baton"}.
type selector struct {
	Metric string            `json:"metric"`
	Labels map[string]string `json:"labels"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if err := answers.Encode(look(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

func look(text string) answer {
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var found answer
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if vector, ok := node.(*parser.VectorSelector); ok {
			found.Selectors = append(found.Selectors, selected(vector))
		}
		return nil
	})
	return found
}

func selected(vector *parser.VectorSelector) selector {
	found := selector{Metric: vector.Name, Labels: map[string]string{}}
	for _, matcher := range vector.LabelMatchers {
		if matcher.Name != labels.MetricName {
			found.Labels[matcher.Name] = matcher.Value
		}
	}
	return found
}
