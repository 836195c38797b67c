// SPDX-License-Identifier: Apache-2.0
// What leaves the page: files and the clipboard.
import type { Atlas } from "./atlas";

/** Saves a file under the campaign's name. */
export function save(atlas: Atlas, blob: Blob, ending: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${(atlas.data.campaign.name || atlas.data.campaign.id).replace(/[^\w.-]+/g, "-")}${ending}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The clipboard needs permission in some browsers on file://; a hidden selection works in all. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
