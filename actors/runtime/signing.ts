/** Puts fresh signatures on the attachment URLs of a dispatch. */
export interface Signing {
  /** Absent: URLs stay bare. A dispatch that shows no attachment comes back as it is. */
  readonly sign?: (t: string, d: object) => object;
}

/** The dispatch as clients get it: they can fetch its attachments by their URLs. */
export function signed<D extends { readonly t: string; readonly d: object }>(
  { sign }: Signing,
  dispatch: D,
): D {
  const d = sign?.(dispatch.t, dispatch.d) ?? dispatch.d;
  return d === dispatch.d ? dispatch : { ...dispatch, d };
}
