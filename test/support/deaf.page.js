/**
 * Runs in a page before it: its audio contexts never start, as on a machine without a sound output, and what it plays is
 * recorded without one.
 */
globalThis.contexts = [];
globalThis.AudioContext = class extends globalThis.AudioContext {
  constructor(options) {
    super(options);
    globalThis.contexts.push(this);
    super.suspend();
  }
  resume() {
    return new Promise(() => {});
  }
};

/** What the page plays of a user for a second, as samples at 48 kHz; none when it plays nothing of them. */
globalThis.recordOf = async (userId) => {
  const stream = document.querySelector(`audio[data-user="${userId}"]`)?.srcObject;
  if (!stream) return [];
  const recorder = new MediaRecorder(stream);
  const parts = [];
  recorder.ondataavailable = ({ data }) => parts.push(data);
  const stopped = new Promise((done) => {
    recorder.onstop = done;
  });
  recorder.start();
  await new Promise((done) => setTimeout(done, 1200));
  recorder.stop();
  await stopped;
  const bytes = await new Blob(parts).arrayBuffer();
  if (bytes.byteLength === 0) return [];
  const decoder = new OfflineAudioContext(1, 48_000, 48_000);
  const sound = await decoder.decodeAudioData(bytes).catch(() => null);
  return sound === null ? [] : [...sound.getChannelData(0)].slice(-24_000);
};

/** The privacy code of the call; empty before there is one. */
globalThis.codeShown = () => document.querySelector('[data-code]')?.dataset.code ?? '';
