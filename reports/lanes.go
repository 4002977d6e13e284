package reports

// maxLanes bounds the lanes of the drawing. Of more, those stay at which
// something drawn happens.
const maxLanes = 12

// chooseLanes decides which lanes are drawn, and in which places.
func (d *drawing) chooseLanes() {
	busy := map[int]bool{}
	for _, c := range d.cols {
		e := &d.h.Events[c.pos]
		busy[d.view.lane(d.who(e))] = true
		busy[d.view.lane(d.presenter(e))] = true
	}
	d.places, d.drawnLanes = make([]int, len(d.view.lanes)), nil
	for i, l := range d.view.lanes {
		d.places[i] = -1
		if len(d.view.lanes) <= maxLanes || busy[i] {
			d.places[i] = len(d.drawnLanes)
			d.drawnLanes = append(d.drawnLanes, l)
		}
	}
	d.fig.Hidden = len(d.view.lanes) - len(d.drawnLanes)
}

// lane returns the drawn lane of a process or client, -1 when there is none.
func (d *drawing) lane(name string) int {
	if i := d.view.lane(name); i >= 0 {
		return d.places[i]
	}
	return -1
}
