// Runs once for all tabs of a browser, as a SharedWorker: a browser opens six connections to a host, and a stream for
// each tab would use them up. It hears what has changed, and tells every tab.
"use strict";

const ports = new Set();
let source = null;

function tell(what) {
  for (const port of ports) port.postMessage(what);
}

function connect() {
  if (source || !ports.size) return;
  // Beside static/, where this file is.
  source = new EventSource("../live");
  for (const topic of ["open", "beat", "dialogs", "sessions", "history"]) source.addEventListener(topic, () => tell(topic));
  source.addEventListener("error", () => {
    tell("error");
    // A browser gives up for good if the answer was an error; it is tried again.
    if (source.readyState !== EventSource.CLOSED) return;
    tell("refused");
    source = null;
    setTimeout(connect, 2000);
  });
}

self.addEventListener("connect", (event) => {
  const port = event.ports[0];
  port.addEventListener("message", () => {
    // The only thing that a tab says is that it goes.
    ports.delete(port);
    if (ports.size || !source) return;
    source.close();
    source = null;
  });
  port.start();
  ports.add(port);
  if (source && source.readyState === EventSource.OPEN) {
    // What this tab shows was drawn before it could hear of changes.
    for (const topic of ["open", "dialogs", "sessions", "history"]) port.postMessage(topic);
  }
  connect();
});
