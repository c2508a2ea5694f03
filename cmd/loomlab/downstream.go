package main

import "github.com/urfave/cli/v2"

func downstreamCommand() *cli.Command {
	return &cli.Command{Name: "downstream"}
}
