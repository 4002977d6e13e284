package sim

import (
	"reflect"

	"staleproof/sim/watchdog"
)

// typeID names a type of message body that was found to be plain.
type typeID = reflect.Type

// Heart is the world's beat for package watchdog: the process that runs, and the
// event. It may be read from another goroutine while the world runs.
func (w *World) Heart() *watchdog.Beat { return &w.beat }
