// Browsers inside other apps: they forget what they keep when the app likes,
// and the guest will not find the ticket again. Known by their User-Agent.

const apps: readonly (readonly [RegExp, string])[] = [
  [/FBAN|FBAV|FB_IAB/, "Facebook"],
  [/Instagram/, "Instagram"],
  [/MicroMessenger/, "WeChat"],
  [/\bLine\//, "LINE"],
  [/musical_ly|BytedanceWebview|TikTok/, "TikTok"],
  [/Snapchat/, "Snapchat"],
  [/LinkedInApp/, "LinkedIn"],
  [/Pinterest\//, "Pinterest"],
  [/Twitter/, "X"],
  [/GSA\//, "Google"],
  [/SeznamMapy|SznProhlizec.*wv/, "Seznam"],
];

/** The app that this browser is part of, "" for one that does not tell its name, or undefined for a browser of its own. */
export function appOf(userAgent: string): string | undefined {
  for (const [mark, name] of apps) if (mark.test(userAgent)) return name;
  // Android says so; on iPhones only Safari and its kin name Safari.
  if (/Android.*; wv\)/.test(userAgent)) return "";
  if (/iPhone|iPad|iPod/.test(userAgent) && /AppleWebKit/.test(userAgent) && !/Safari\//.test(userAgent)) return "";
  return undefined;
}
