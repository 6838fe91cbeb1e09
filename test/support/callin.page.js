/**
 * Runs in a page of the tests: sends the microphone and plays every SSRC of `hears`, negotiating as published browser
 * clients do. `openPeer` is the test's side: it takes the fragment of op 1 and gives the SDP of op 4.
 */
globalThis.callIn = async (hears) => {
  const plain = { echoCancellation: false, noiseSuppression: false, autoGainControl: false };
  const media = await navigator.mediaDevices.getUserMedia({ audio: plain });
  const connection = new RTCPeerConnection({ bundlePolicy: 'max-bundle' });
  connection.addTransceiver(media.getAudioTracks()[0], { direction: 'sendonly' });
  const receivers = hears.map(() => connection.addTransceiver('audio', { direction: 'recvonly' }).receiver);
  const offer = await connection.createOffer();
  await connection.setLocalDescription(offer);
  const wanted = /^a=(ice-|fingerprint|extmap|rtpmap:\d+ opus)/;
  const fragment = [...new Set(offer.sdp.split('\r\n').filter((line) => wanted.test(line)))].join('\n');
  const session = (await globalThis.openPeer(fragment)).split('\n');
  await connection.setRemoteDescription({ type: 'answer', sdp: answerTo(offer.sdp, session, hears) });
  const context = new AudioContext({ sampleRate: 48_000 });
  await context.resume();
  const analysers = receivers.map((receiver) => analyserOf(context, receiver.track));
  globalThis.heard = () =>
    analysers.map((analyser) => {
      const samples = new Float32Array(analyser.fftSize);
      analyser.getFloatTimeDomainData(samples);
      return [...samples];
    });
  globalThis.hangUp = () => connection.close();
};

function answerTo(offer, session, hears) {
  const transport = session.filter((line) => /^a=(ice|fingerprint|candidate)/.test(line));
  const mids = [...offer.matchAll(/a=mid:(\S+)/g)].map(([, mid]) => mid);
  const [, opus] = /a=rtpmap:(\d+) opus/.exec(offer);
  const lines = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', `a=group:BUNDLE ${mids.join(' ')}`];
  mids.forEach((mid, i) => {
    lines.push(
      `m=audio 9 UDP/TLS/RTP/SAVPF ${opus}`,
      session.find((line) => line.startsWith('c=')),
    );
    lines.push(...transport, 'a=setup:passive', `a=mid:${mid}`, 'a=rtcp-mux');
    lines.push(i === 0 ? 'a=recvonly' : 'a=sendonly', `a=rtpmap:${opus} opus/48000/2`);
    if (i > 0) lines.push(`a=ssrc:${hears[i - 1]} cname:c${i}`, `a=msid:s${i} a${i}`);
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
