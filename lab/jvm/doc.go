// Package jvm asks a running JVM about itself: where its memory is, when it stopped
// for garbage collection, what its flags are, and what a flight recording shows of
// CPU, allocation, pinned threads and sockets.
//
// The usual steps: [ToolsOf] finds the tools of the JDK that a JVM runs on;
// [Tools.Ask] sends a diagnostic command; [OpenGCLog] follows the log that
// [GCLogFlag] makes it write; [StartRecording], [StopRecording] and
// [ReadRecording] enclose a window.
//
// Limits: HotSpot, JDK 17 and newer. A JRE without jcmd or jfr answers nothing, and
// the reason says so. All of it costs the JVM time and belongs outside of windows,
// but for the recording, whose cost is measured.
package jvm
