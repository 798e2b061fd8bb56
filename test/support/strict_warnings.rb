# frozen_string_literal: true

# Raises on warnings from this repository's Ruby files, and drops warnings from other gems, which we cannot fix.
module StrictWarnings
  ROOT = File.expand_path("../..", __dir__)
  # "PATH:LINE: warning: ..." as Ruby prints it; the path is relative if the file was loaded by a relative path.
  OURS = %r{\A(?:#{Regexp.escape(ROOT)}/)?(?:tiercel-(?:lab|insight)/)?(?:lib|test|exe|bin|ext)/[^:\n]+\.rb:\d+: }
  THEIRS = %r{\A[^:\n]+:\d+: warning: }

  # A warning from our own code.
  class Error < StandardError; end

  def warn(message, category: nil)
    raise Error, message if message.match?(OURS)
    super unless message.match?(THEIRS)
  end
end

$VERBOSE = true
Warning[:deprecated] = true
Warning.singleton_class.prepend(StrictWarnings)
