/** Runs in the page of voice rooms, before it: what its audio elements play, for tests that listen. */
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
