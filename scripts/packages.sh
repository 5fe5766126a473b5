# shellcheck shell=bash
# To be sourced: packages of the distribution, fetched and unpacked without root and with nothing changed on the system.

# fetch_packages downloads the packages named behind $1, and all that they need, into $1/archives, with apt's own state in $1.
fetch_packages() {
	local apt=$1 list
	shift
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/sources"
	: >"$apt/status" # nothing is installed: every library comes along

	# The distribution's own sources are enough. Others may be out of reach and take their time to say so.
	for list in /etc/apt/sources.list.d/{debian,ubuntu}.sources /etc/apt/sources.list; do
		if [ -s "$list" ]; then
			cp "$list" "$apt/sources/"
			break
		fi
	done
	cat >"$apt/conf" <<CONF
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons-hidpi;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large-hidpi;
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/sources";
Acquire::Languages "none";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
Acquire::Retries "1";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
CONF
	apt-get -qq -c "$apt/conf" update >&2
	apt-get -qq -c "$apt/conf" --yes --download-only install "$@" >&2
}

# unpack_packages unpacks what fetch_packages left in $1 into $2.
unpack_packages() {
	local package
	mkdir -p "$2"
	for package in "$1"/archives/*.deb; do
		dpkg-deb --extract "$package" "$2"
	done
}
