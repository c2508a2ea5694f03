package main

import "github.com/urfave/cli/v2"

func loadCommand() *cli.Command {
	return &cli.Command{Name: "load"}
}
