/**
 * Runs in the pages with calls, before them: what their audio elements play, for tests that listen, and their
 * WebSockets, for tests that close one. A route of Playwright passes a message on later than the page sent it, and
 * complains when that connection has been closed by then.
 */
const sockets = [];

globalThis.WebSocket = class extends WebSocket {
  constructor(...given) {
    super(...given);
    sockets.push(this);
  }
};

/** Those whose path begins with this segment; the gateway's is empty. */
const socketsOf = (segment) => sockets.filter(({ url }) => new URL(url).pathname.split('/')[1] === segment);
globalThis.countSockets = (segment) => socketsOf(segment).length;
globalThis.closeSocket = ([segment, code]) => socketsOf(segment).at(-1).close(code, 'A test.');

let context = null;
const analysers = new WeakMap();

globalThis.listenTo = async (userId) => {
  const element = document.querySelector(`audio[data-user="${userId}"]`);
  if (element === null || element.muted) return [];
  const analyser = analyserOf(element.srcObject);
  await context.resume();
  await new Promise((done) => setTimeout(done, 500));
  const samples = new Float32Array(analyser.fftSize);
  analyser.getFloatTimeDomainData(samples);
  return [...samples];
};

/** One for each stream: Chromium gives a remote stream's sound to the first of several contexts that come and go. */
function analyserOf(stream) {
  const known = analysers.get(stream);
  if (known !== undefined) return known;
  context ??= new AudioContext({ sampleRate: 48_000 });
  const analyser = context.createAnalyser();
  analyser.fftSize = 16_384;
  context.createMediaStreamSource(stream).connect(analyser);
  analysers.set(stream, analyser);
  return analyser;
}
