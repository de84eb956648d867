(() => {
  "use strict";
  const QUIET_MS = 5000, OLD_SECONDS = 30;
  const silent = document.getElementById("silent");
  let tag = document.documentElement.dataset.tag;
  let heard = Date.now(), skew = 0;

  // Ages are told by the gate's clock, since the browser's may be wrong.
  const now = () => Date.now() / 1000 + skew;

  const age = (seconds) => {
    if (seconds < 1) return "just now";
    if (seconds < 90) return `${Math.round(seconds)} s ago`;
    if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
    if (seconds < 172800) return `${Math.round(seconds / 3600)} h ago`;
    return `${Math.round(seconds / 86400)} days ago`;
  };

  const tellTimes = () => {
    for (const time of document.querySelectorAll("time[data-at]")) {
      const text = age(now() - Number(time.dataset.at));
      if (time.textContent !== text) time.textContent = text;
    }
  };

  const tellSilence = () => {
    const decided = document.querySelector("#decided time");
    const since = new Date(heard).toLocaleTimeString("en-GB");
    let text = "";
    if (Date.now() - heard >= QUIET_MS) text = `No answer from the gate since ${since}.`;
    else if (!decided || now() - Number(decided.dataset.at) > OLD_SECONDS) text = "The gate answers but no longer decides.";
    silent.hidden = !text;
    silent.textContent = text && `${text} What you see below may no longer hold.`;
    document.body.classList.toggle("old", Boolean(text));
    const title = document.getElementById("main").dataset.title;
    document.title = text ? `No answer, last: ${title}` : title;
  };

  const swap = (html) => {
    const part = html.slice(html.indexOf("<main"), html.indexOf("</main>") + 7);
    const fresh = new DOMParser().parseFromString(part, "text/html").querySelector("main");
    const opened = [...document.querySelectorAll("details[open]")].map((one) => one.id);
    document.getElementById("main").replaceWith(fresh);
    for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
  };

  const take = async (answer) => {
    if (answer.status === 200) {
      swap(await answer.text());
      tag = answer.headers.get("ETag");
    } else if (answer.status !== 304) {
      throw new Error(String(answer.status));
    }
    const decided = document.querySelector("#decided time");
    if (decided) decided.dataset.at = answer.headers.get("X-Decided");
    skew = Date.parse(answer.headers.get("Date")) / 1000 - Date.now() / 1000;
    heard = Date.now();
  };

  const look = async () => {
    const headers = { "If-None-Match": tag };
    try {
      await take(await fetch(location.pathname, { headers, cache: "no-store", signal: AbortSignal.timeout(QUIET_MS) }));
    } catch {
      // What is missing is told below, by how long ago the gate was heard.
    }
    tellSilence();
    tellTimes();
    setTimeout(look, 900);
  };

  tellTimes();
  setTimeout(look, 900);
})();
