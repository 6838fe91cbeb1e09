/**
 * Browsers in calls, as the media plane sees them. Every packet is plain RTP or RTCP: DTLS-SRTP ends here, end-to-end
 * encrypted payloads pass untouched. Lives on the main thread; members are named by the audio SSRC the plane allotted.
 *
 * On the plane's side of this interface a member's packets look like those of a UDP client: its SSRCs are the allotted
 * ones, Opus is payload type 120 and video has the payload types of `VIDEO_CODECS`. What the browser calls them is found
 * out here, from the payload types of what it sends.
 */
export interface PeerPort {
  /**
   * Makes a peer for a member, or another in place of the one it has.
   *
   * @param fragment The client's SDP (`data` of op 1), untrusted.
   * @param streams  The video SSRCs that were allotted to the member, in the order of its layers.
   * @returns the SDP that op 4 carries, or null when the fragment cannot be used.
   */
  open(ssrc: number, fragment: string, streams?: readonly PeerStream[]): Promise<string | null>;
  /**
   * Sends one RTP or RTCP packet to the member; dropped while it is not connected. The bytes are copied before it returns.
   *
   * @returns whether the packet was taken.
   */
  send(ssrc: number, packet: Uint8Array): boolean;
  /** Ends the member's peer; nothing of it is reported any more. Unknown members are ignored. */
  close(ssrc: number): void;
  /** Ends all peers. */
  closeAll(): void;
}

export interface PeerStream {
  readonly ssrc: number;
  readonly rtxSsrc: number;
}

export interface PeerEvents {
  /** One RTP or RTCP packet of a member. The bytes are the receiver's to keep; `ssrc` is the member's audio SSRC. */
  packet(ssrc: number, packet: Uint8Array): void;
  /** `failed`: not connected in time, or lost. The peer is closed then, and the member may open another. */
  state(ssrc: number, state: 'connected' | 'failed'): void;
}

/** A UDP port that is listened on so that nobody else takes it. */
export interface PortReservation {
  readonly port: number;
  /** Takes the port again, where nobody has it. */
  hold(): void;
  /** Lets go of the port at once. */
  release(): void;
}

export interface PeerOptions {
  /** Address of this machine to listen on. */
  readonly bindAddress: string;
  /** One UDP port for all peers; not 0. */
  readonly port: number;
  /** What holds the port while there are no peers; `closeAll` lets go of it. */
  readonly reservation?: PortReservation;
  /** The address that candidates name. */
  readonly externalAddress: string;
  /** How long a peer may take to connect. Default 15 seconds. */
  readonly connectMs?: number;
  /** Peers at one time; beyond it `open` answers null. Default 1000. */
  readonly peersMax?: number;
}
