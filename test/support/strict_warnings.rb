# frozen_string_literal: true

# Raises on a warning that comes from this repository's Ruby files, and drops
# those of other people's gems, which nobody here can mend.
module StrictWarnings
  ROOT = File.expand_path("../..", __dir__)
  # "PATH:LINE: warning: ..." as Ruby writes it; the path is relative where the file was named so.
  OURS = %r{\A(?:#{Regexp.escape(ROOT)}/)?(?:tiercel-lab/)?(?:lib|test|exe|bin|ext)/[^:\n]+\.rb:\d+: }
  THEIRS = %r{\A[^:\n]+:\d+: warning: }

  # A warning of our own.
  class Error < StandardError; end

  def warn(message, category: nil)
    raise Error, message if message.match?(OURS)
    super unless message.match?(THEIRS)
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.singleton_class.prepend(StrictWarnings)
