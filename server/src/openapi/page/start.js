"use strict";

// The page of earlier versions stored the token in the browser, where it may still be valid for 30 days.
localStorage.removeItem("authorized");

const button = document.getElementById("explore");

// Loads the explorer, which is large, and shows it instead of the list.
function explore() {
    button.disabled = true;
    button.textContent = "Loading…";
    const script = document.createElement("script");
    script.src = "scalar.js";
    script.onerror = () => {
        script.remove();
        button.disabled = false;
        button.textContent = "The explorer could not be loaded: try again";
    };
    script.onload = () => {
        document.querySelector("style").remove();
        document.body.innerHTML = '<div id="app"></div>';
        Scalar.createApiReference("#app", {
            // Relative to the page, so that it is right behind a proxy that removes a prefix, too.
            url: "../openapi.json",
            metaData: { title: "tidings: API" },
            // The token field is open at once. The token stays in the memory of the page.
            authentication: { preferredSecurityScheme: "token" },
            persistAuth: false,
            featuredClients: ["shell/curl", "js/fetch", "rust/reqwest"],
            defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
            documentDownloadType: "direct",
            // The page asks this server alone.
            agent: { disabled: true },
            hideClientButton: true,
            mcp: { disabled: true },
            showDeveloperTools: "never",
            telemetry: false,
            withDefaultFonts: false,
        });
    };
    document.head.append(script);
}

button.addEventListener("click", explore);
button.disabled = false;
// The address names a part of the explorer.
if (location.hash) {
    explore();
}
