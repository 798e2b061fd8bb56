# frozen_string_literal: true

require "json"
require "rails/command"
require "rails/command/environment_argument"

# Commands for the application's cache, such as `bin/rails cache:doctor` (docs/insight.md).
class Rails::Command::CacheCommand < Rails::Command::Base
  include Rails::Command::EnvironmentArgument

  SEPARATE = "%s is a separate cache in each process. This command uses its own, empty one, and cannot see or change " \
             "the cache of a running server. Tiercel::Insight::Web, mounted in the server, shows its figures."

  class_option :json, type: :boolean, default: false, desc: "Print JSON"

  # Prints one line, because Rails would show Thor's error with its backtrace.
  #
  # @private
  def self.handle_argument_error(command, _error, arguments, _arity)
    given = arguments.empty? ? "no argument" : "#{arguments.size} arguments"
    warn "cache: #{command.name} was called with #{given}. Type: #{banner(command)}"
    exit 2
  end

  # `bin/rails cache`, with or without `--help`. Thor cannot parse invalid UTF-8, so such arguments become binary.
  #
  # @private
  def self.perform(command, arguments, config)
    super(command, command == "cache" ? [] : arguments.map { |one| one.valid_encoding? ? one : one.b }, config)
  end

  remove_command :tree

  desc "help [COMMAND]", "Describe a command"
  def help(*) = super

  desc "cache", "List the commands", hide: true
  def cache = self.class.help(shell)

  desc "doctor", "Examine the stores; exit 1: a problem"
  long_desc "Examines the application's cache stores. Exits with 1 if it finds a problem, else with 0."
  def doctor(*)
    boot
    report = ::Tiercel::Insight::Doctor.of_application.examine
    say options[:json] ? json(report.to_h) : report.to_text
    exit report.exit_code
  end

  desc "stats", "Print hits, misses and their costs"
  long_desc "Prints hits, misses and their costs, what another size would change, and stale values."
  def stats(*)
    say options[:json] ? json(summary.to_h) : summary.to_text
    refuse("the backend did not answer") if store.respond_to?(:stats) && summary.backend.nil?
  end

  desc "top", "Watch rates and costly keys"
  method_option :interval, type: :numeric, default: 2, desc: "Seconds between two screens"
  def top(*)
    options[:json] ? say(json(summary.to_h)) : summary.top(seconds: options[:interval].clamp(0.1, 3_600))
  end

  desc "audit", "List stale values; exit 1: there are some"
  long_desc "Lists the values that differ from what their blocks compute. Exits with 1 if one is stale. Needs " \
            "config.tiercel.audit = 0.001 in the server."
  def audit(*)
    store
    findings = ::Tiercel::Insight.figures.audit
    shown = findings.map { |one| one.compact.merge(one.slice("first", "last").transform_values { |at| Time.at(at) }) }
    answer(findings, findings.empty? ? "No difference was found, or no audit has run." : lines({ findings: shown }))
    exit 1 if findings.any? { |one| one["status"] == "stale" }
  end

  desc "profile FILE", "Write what pages read, for the lab"
  def profile(file)
    File.write(file, "#{json(summary.profile)}\n")
    answer({ file: }, "Wrote #{printable(file)}.")
  end

  desc "get KEY", "Describe an entry: size, TTL, tags"
  long_desc "Prints whether the entry exists; of Tiercel also tier, size, encoding, TTL, version and tags. Exits " \
            "with 1 if it does not exist."
  method_option :value, type: :boolean, default: false, desc: "Also load and print the value"
  def get(key)
    store(separate: true)
    report = ::Tiercel::Insight::EntryReport.new(store, key).to_h
    report[:value] = store.read(key).inspect if options[:value]
    say options[:json] ? json(report) : lines(report)
    exit 1 if report[:tiers].none? { |tier| tier[:found] }
  rescue StandardError => error
    refuse(error.message)
  end

  desc "delete KEY", "Delete one entry"
  def delete(key)
    deleted = store(separate: true) && answered { store.delete(key) }
    answer({ key:, deleted: }, deleted ? "Deleted #{printable(key)}." : "#{printable(key)} does not exist.")
  rescue ArgumentError => error # an empty key
    refuse(error.message)
  end

  desc "clear [PREFIX]", "Delete entries by prefix, or all"
  method_option :yes, type: :boolean, default: false, desc: "Do not ask for confirmation"
  def clear(prefix = nil)
    store(separate: true)
    return clear_all if prefix.to_s.empty? # perhaps an unset variable of a script
    count = answered { store.delete_matched(pattern_of(prefix)) }
    which = count.is_a?(Integer) ? "entries: #{count}" : "every entry that begins with #{printable(prefix)}"
    answer({ prefix:, deleted: count }, "Deleted #{which}")
  rescue NotImplementedError
    refuse("#{store.class} cannot list its keys, so it cannot delete by prefix")
  rescue ArgumentError => error # Rails' stores cannot compare keys that are not UTF-8
    refuse("entries may remain, because #{store.class} has a key that it cannot compare: #{error.message}")
  end

  desc "invalidate TAG...", "Invalidate entries by tag (Tiercel)"
  def invalidate(*tags)
    store
    refuse("no tags given. Type: bin/rails cache:invalidate TAG...") if tags.empty?
    refuse("#{store.class} has no tags") unless store.respond_to?(:invalidate_tags)
    refuse("the backend did not answer: the tags may still be valid") unless store.invalidate_tags(*tags)
    answer({ invalidated: tags }, "#{tags.map { |tag| printable(tag) }.join(", ")}: invalidated.")
  rescue ArgumentError => error # an empty tag
    refuse(error.message)
  end

  private

  # Boots Rails before it loads the gem, so that the railtie takes part. A command serves no requests, and counts none.
  # An application may log to its standard output; these lines go to standard error, beside the command's answer.
  def boot
    return if @booted
    @booted = true
    ENV["TIERCEL_INSIGHT"] = "quiet"
    output = STDOUT.dup
    STDOUT.reopen(STDERR)
    boot_application!
    require "tiercel/insight"
    $stdout = output if $stdout.equal?(STDOUT)
  end

  # @param separate [Boolean] whether the command is useless on a cache of another process
  def store(separate: false)
    @store ||= begin
      boot
      @subject = ::Tiercel::Insight::Doctor::Subject.new("Rails.cache", Rails.cache)
      say_error "cache: #{format(SEPARATE, @subject)}" if separate && @subject.of_each_process?
      Rails.cache
    end
  end

  def summary = @summary ||= store.then { |cache| ::Tiercel::Insight::Summary.new(cache) }

  def pattern_of(prefix)
    case @subject.kind
    when :tiercel_store, :redis_cache_store then "#{prefix.gsub(/[\\*?\[\]]/) { |char| "\\#{char}" }}*"
    else /\A#{Regexp.escape(prefix)}/
    end
  end

  def clear_all
    whole = "every entry of #{@subject}"
    unless options[:yes] || ($stdin.tty? && yes?("Delete #{whole}? [y/N]"))
      refuse("this deletes #{whole}: confirm with --yes, or give a PREFIX")
    end
    answered { store.clear }
    answer({ cleared: true }, "Deleted all entries.")
  end

  # Subscribes to error reports, because the result of a delete does not distinguish a failure from a missing entry.
  def answered
    failures = []
    reported = Object.new
    reported.define_singleton_method(:report) { |error, **| failures << error }
    ActiveSupport.error_reporter.subscribe(reported)
    result = yield
    refuse("the backend failed, so entries may remain: #{failures.first.message}") if failures.any?
    result
  ensure
    ActiveSupport.error_reporter.unsubscribe(reported)
  end

  def answer(data, text) = say(options[:json] ? json(data) : text)

  def refuse(message)
    say_error "cache: #{printable(message)}"
    exit 2
  end

  # Keys may contain any bytes, but JSON allows only UTF-8.
  def json(data) = JSON.pretty_generate(clean(data))

  # Prints one line per value; nested values are indented.
  def lines(data, indent = "")
    data.flat_map do |name, value|
      case value
      when Hash then ["#{indent}#{printable(name)}:", lines(value, "#{indent}  ")]
      when Array then ["#{indent}#{name}:", *value.map { |one| item(one, indent) }]
      else "#{indent}#{printable(name)}: #{printable(value)}"
      end
    end.join("\n")
  end

  def item(value, indent)
    return "#{indent}  #{printable(value)}" unless value.is_a?(Hash)
    first, *rest = lines(value, "#{indent}    ").lines
    "#{indent}  - #{first.lstrip}#{rest.join}"
  end

  def printable(value) = ::Tiercel::Insight::Text.printable(value.to_s, most: 10_000)

  def clean(data)
    case data
    when Hash then data.to_h { |name, value| [clean(name.to_s), clean(value)] }
    when Array then data.map { |value| clean(value) }
    when String then data.dup.force_encoding(Encoding::UTF_8).scrub("?")
    when Float then data.finite? ? data : nil
    else data
    end
  end
end
