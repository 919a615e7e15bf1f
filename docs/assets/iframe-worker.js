// Browsers do not start a Web Worker for a page that was opened from the file system, and the search of the site is one.
// There this class takes the place of Worker: the script runs in a hidden frame of the page, with the same messages.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.appendChild(this.frame);
      const inner = this.frame.contentWindow;
      const loadScript = (source) =>
        new Promise((resolve, reject) => {
          const script = inner.document.createElement("script");
          script.src = source;
          script.onload = resolve;
          script.onerror = reject;
          inner.document.body.appendChild(script);
        });
      inner.postMessage = (data) => this.receive(data);
      inner.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => loadScript(source)), Promise.resolve());
      this.loaded = loadScript(String(url));
    }

    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }

    postMessage(data) {
      const inner = this.frame.contentWindow;
      this.loaded.then(() => inner.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
