/**
 * Runs in a page of the tests: sends the microphone and plays every SSRC of `hears`, negotiating as published browser
 * clients do. With `films` it sends a moving picture too, and with `sees` it shows the picture of that SSRC. `openPeer` is
 * the test's side: it takes the fragment of op 1 and gives the SDP of op 4.
 */
globalThis.callIn = async ({ hears, films = false, sees = null }) => {
  const plain = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const media = await navigator.mediaDevices.getUserMedia({ audio: plain });
  const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  connection.addTransceiver(media.getAudioTracks()[0], { direction: 'sendonly' });
  const receivers = hears.map(() => connection.addTransceiver('audio', { direction: 'recvonly' }).receiver);
  const sections = [{ sends: true }, ...hears.map((ssrc) => ({ ssrc }))];
  if (films) {
    connection.addTransceiver(movingPicture(), { direction: 'sendonly' });
    sections.push({ sends: true });
  }
  if (sees !== null) {
    connection.addTransceiver('video', { direction: 'recvonly' });
    sections.push({ ssrc: sees });
  }
  const offer = await connection.createOffer();
  await connection.setLocalDescription(offer);
  const wanted = /^a=(ice-|fingerprint|extmap|rtpmap:\d+ opus)/;
  const [vp8, rtx] = videoTypes(offer.sdp);
  const video = [`a=rtpmap:${vp8} VP8/90000`, `a=rtpmap:${rtx} rtx/90000`];
  const lines = [
    ...offer.sdp.split('\r\n').filter((line) => wanted.test(line)),
    ...(vp8 === null ? [] : video),
  ];
  const session = (await globalThis.openPeer([...new Set(lines)].join('\n'))).split('\n');
  await connection.setRemoteDescription({ type: 'answer', sdp: answerTo(offer.sdp, session, sections) });
  const context = new AudioContext({ sampleRate: 48_000 });
  await context.resume();
  const analysers = receivers.map((receiver) => analyserOf(context, receiver.track));
  globalThis.heard = () =>
    analysers.map((analyser) => {
      const samples = new Float32Array(analyser.fftSize);
      analyser.getFloatTimeDomainData(samples);
      return [...samples];
    });
  globalThis.pictures = async () => {
    const entries = [...(await connection.getStats()).values()];
    const { framesDecoded = 0 } =
      entries.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'video') ?? {};
    const { pliCount = 0 } =
      entries.find(({ type, kind }) => type === 'outbound-rtp' && kind === 'video') ?? {};
    return { framesDecoded, pliCount };
  };
  globalThis.hangUp = () => connection.close();
};

/** Payload types of VP8 and of its retransmissions. */
function videoTypes(offer) {
  const vp8 = /a=rtpmap:(\d+) VP8/.exec(offer)?.[1] ?? null;
  const rtx = new RegExp(`a=fmtp:(\\d+) apt=${vp8}\r`).exec(offer)?.[1] ?? null;
  return [vp8, rtx];
}

function answerTo(offer, session, sections) {
  const transport = session.filter((line) => /^a=(ice|fingerprint|candidate)/.test(line));
  const mids = [...offer.matchAll(/a=mid:(\S+)/g)].map(([, mid]) => mid);
  const kinds = [...offer.matchAll(/^m=(\S+)/gm)].map(([, kind]) => kind);
  const [, opus] = /a=rtpmap:(\d+) opus/.exec(offer);
  const [vp8, rtx] = videoTypes(offer);
  const formats = {
    audio: [[opus], `a=rtpmap:${opus} opus/48000/2`],
    video: [
      [vp8, rtx],
      `a=rtpmap:${vp8} VP8/90000`,
      `a=rtcp-fb:${vp8} nack`,
      `a=rtcp-fb:${vp8} nack pli`,
      `a=rtpmap:${rtx} rtx/90000`,
      `a=fmtp:${rtx} apt=${vp8}`,
    ],
  };
  const lines = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', `a=group:BUNDLE ${mids.join(' ')}`];
  mids.forEach((mid, i) => {
    const [types, ...codecs] = formats[kinds[i]];
    const { sends = false, ssrc } = sections[i];
    lines.push(
      `m=${kinds[i]} 9 UDP/TLS/RTP/SAVPF ${types.join(' ')}`,
      session.find((line) => line.startsWith('c=')),
    );
    lines.push(...transport, 'a=setup:passive', `a=mid:${mid}`, 'a=rtcp-mux', ...codecs);
    lines.push(sends ? 'a=recvonly' : 'a=sendonly');
    if (!sends) lines.push(`a=ssrc:${ssrc} cname:c${i}`, `a=msid:s${i} a${i}`);
  });
  return `${lines.join('\r\n')}\r\n`;
}

function analyserOf(context, track) {
  const stream = new MediaStream([track]);
  // A remote track reaches WebAudio only while an element plays it.
  const element = new Audio();
  element.srcObject = stream;
  element.muted = true;
  void element.play();
  const analyser = context.createAnalyser();
  analyser.fftSize = 32_768;
  context.createMediaStreamSource(stream).connect(analyser);
  return analyser;
}

/** A canvas that is drawn anew all the time. */
function movingPicture() {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [320, 180];
  const pen = canvas.getContext('2d');
  setInterval(() => {
    pen.fillStyle = `hsl(${(performance.now() / 10) % 360} 80% 50%)`;
    pen.fillRect(0, 0, 320, 180);
  }, 40);
  return canvas.captureStream(15).getVideoTracks()[0];
}
