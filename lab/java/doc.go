// Package java knows the JDKs of this machine, and compiles the apps of testdata/apps
// with one of them and Maven, once for each Boot version.
//
// The usual steps: [FindJDKs] and [SelectJDK], [CachedApps] to see what is there
// already, [BuildApps] for what is not.
//
// Limits: what is built lies in a cache folder that names what it was made from,
// behind a lock, so that several runs may ask at once. Maven is asked for artifacts,
// nobody else is.
package java
