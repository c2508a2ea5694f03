// Package testdata holds the sources of the systems under test, so that the
// binary can build them on a machine that has no checkout.
package testdata

import "embed"

// Apps is the folder apps: Maven sources of the Spring Boot jars, and the
// single-file Java tiers of apps/tools. A target folder left by a build in place
// would be in it too; who reads Apps skips folders of that name.
//
//go:embed all:apps
var Apps embed.FS
