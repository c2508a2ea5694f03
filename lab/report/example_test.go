package report_test

import (
	"fmt"

	"loomlab/lab/record"
	"loomlab/lab/report"
)

// A stored run becomes one table, which each format only writes down.
func ExampleBuild() {
	saved, err := record.Open("../../testdata/runs/article-small")
	if err != nil {
		fmt.Println(err)
		return
	}
	table := report.Build(saved)
	fmt.Println(table.Columns)
	for _, block := range table.Rungs {
		fmt.Println(block.Title, "|", block.Rows[0].Label())
	}
	// Output:
	// [platform virtual webflux]
	// 100 connections | throughput, req/s
	// 1000 connections | throughput, req/s
	// 3000 connections | throughput, req/s
}

// Two SUTs of one run against one another.
func ExampleCompare() {
	saved, err := record.Open("../../testdata/runs/article-forks")
	if err != nil {
		fmt.Println(err)
		return
	}
	comparison, err := report.Compare(report.Side{Saved: saved, SUT: "platform"}, report.Side{Saved: saved, SUT: "virtual"}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	worse, _ := comparison.FailIfWorse(0.05)
	fmt.Println(len(comparison.Cells), "rungs;", len(worse), "worse by more than 5 %")
	// Output:
	// 4 rungs; 0 worse by more than 5 %
}
