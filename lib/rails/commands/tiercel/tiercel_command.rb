# frozen_string_literal: true

require "json"
require "rails/command"
require "rails/command/environment_argument"

module Rails
  module Command
    # Commands for the application's cache, such as `bin/rails tiercel:doctor` (docs/observability.md).
    class TiercelCommand < Base
      include EnvironmentArgument

      SEPARATE = "%s is a separate cache in each process. This command uses its own, empty one, and cannot see or " \
                 "change the cache of a running server. Tiercel::Web, mounted in the server, can."
      OWN_COUNTS = "on %s each process counts its own hits and misses, so these are the counts of this command " \
                   "alone. Tiercel::Web, mounted in a server, shows those of the server's process."
      private_constant :SEPARATE, :OWN_COUNTS

      class_option :json, type: :boolean, default: false, desc: "Print JSON"

      # Thor raises an error that Rails shows with its backtrace.
      #
      # @private
      def self.handle_argument_error(command, _error, arguments, _arity)
        given = arguments.empty? ? "no argument" : "#{arguments.size} arguments"
        warn "tiercel: #{command.name} was called with #{given}. Type: #{banner(command)}"
        exit 2
      end

      desc "doctor", "Examine the application's cache stores; exits with 1 if it finds a problem"
      def doctor(*)
        boot_application!
        require "tiercel/doctor"
        report = ::Tiercel::Doctor.of_application.examine
        say options[:json] ? json(report.to_h) : report.to_text
        exit report.exit_code
      end

      desc "stats", "Print the hits, misses, entries and bytes of Rails.cache: all processes, tier by tier"
      def stats(*)
        figures = cache.respond_to?(:stats) ? cache.stats : refuse("#{cache.class} has no statistics")
        refuse("the backend did not answer") if figures.nil?
        note_on_account(figures[:scope])
        say options[:json] ? json(figures) : [headline(figures), lines(figures)].compact.join("\n\n")
      end

      desc "top", "Watch the cache: rates, tier by tier, and the key classes whose misses cost most"
      method_option :day, type: :boolean, default: false, desc: "Key classes of the last day instead of the last hour"
      method_option :interval, type: :numeric, default: 2, desc: "Seconds between two screens"
      def top(*)
        account = cache.respond_to?(:account) ? cache.account : refuse("#{cache.class} has no account")
        note_on_account(account.scope)
        require "tiercel/top"
        top = ::Tiercel::Top.new(account, period: options[:day] ? :day : :hour)
        options[:json] ? say(json(top.to_h)) : top.run(interval_seconds: options[:interval].clamp(0.1, 3_600))
      end

      desc "get KEY", "Print the location of the entry KEY: tier, size, encoding, TTL, version, tags"
      method_option :value, type: :boolean, default: false, desc: "Also load and print the value"
      def get(key)
        report = entry(key)
        report[:value] = cache.read(key).inspect if options[:value]
        say options[:json] ? json(report) : lines(report)
        exit 1 if report[:tiers].none? { |tier| tier[:found] }
      end

      desc "delete KEY", "Delete the entry of KEY"
      def delete(key)
        deleted = answered { cache.delete(key) }
        answer({ key:, deleted: }, deleted ? "Deleted #{printable(key)}." : "#{printable(key)} does not exist.")
      end

      desc "clear [PREFIX]", "Delete every entry whose key begins with PREFIX; without PREFIX all of them"
      method_option :yes, type: :boolean, default: false, desc: "Do not ask for confirmation"
      def clear(prefix = nil)
        return clear_all if prefix.nil?
        ours = cache.respond_to?(:backend)
        pattern = ours ? "#{::Tiercel::Store::Glob.escape(prefix)}*" : /\A#{Regexp.escape(prefix)}/
        count = answered { cache.delete_matched(pattern) }
        answer({ prefix:, deleted: count }, "Deleted entries: #{count || "unknown"}")
      end

      desc "invalidate TAG...", "Invalidate every entry that has one of these tags"
      def invalidate(*tags)
        boot_application!
        refuse("no tags given. Type: bin/rails tiercel:invalidate TAG...") if tags.empty?
        refuse("#{cache.class} has no tags") unless cache.respond_to?(:invalidate_tags)
        done = cache.invalidate_tags(*tags)
        refuse("the backend did not answer: the tags may still be valid") unless done
        answer({ invalidated: tags }, "#{tags.map { |tag| printable(tag) }.join(", ")}: invalidated.")
      end

      private

      def cache
        @cache ||= begin
          boot_application!
          require "tiercel/doctor/subject"
          @subject = ::Tiercel::Doctor::Subject.new("Rails.cache", Rails.cache)
          say_error "tiercel: #{format(SEPARATE, @subject)}" if @subject.of_each_process?
          Rails.cache
        end
      end

      def note_on_account(scope)
        return if scope != :process || @subject.of_each_process?
        say_error "tiercel: #{printable(format(OWN_COUNTS, @subject))}"
      end

      def entry(key)
        refuse("#{cache.class} cannot report the location of entries") unless cache.respond_to?(:stored_key)
        require "tiercel/entry_report"
        ::Tiercel::EntryReport.new(cache, key).to_h.tap { |report| report[:tiers].each { |tier| name_tags(tier) } }
      rescue ::Tiercel::BackendError => error
        refuse(error.message)
      end

      # Shows tags as `tiercel:invalidate` takes them.
      def name_tags(tier)
        %i[tags invalidated_tags].each do |name|
          tier[name] = ::Tiercel::EntryReport.tag_names(tier[name]) if tier[name]
        end
      end

      def ratio(hits, misses)
        reads = hits + misses
        "#{hits} hits, #{misses} misses#{format(" (%.1f %% hits)", 100.0 * hits / reads) if reads.positive?}"
      end

      # @return [String, nil] the most important figures; nil for a store with other figures
      def headline(figures)
        entries, bytes, size, hits, misses = figures.values_at(:entries, :bytes, :size_bytes, :hits, :misses)
        room = [bytes, size].compact.map { |number| ::Tiercel::Sizes.human(number) }.join(" of ")
        parts = [("entries: #{entries}" if entries), room.presence, (ratio(hits, misses) if hits && misses)]
        parts.compact.join(", ").presence
      end

      def clear_all
        store = cache
        whole = "every entry of #{store.respond_to?(:backend) ? store.backend : store.class}"
        unless options[:yes] || ($stdin.tty? && yes?("Delete #{whole}? [y/N]"))
          refuse("this deletes #{whole}: confirm with --yes, or give a PREFIX")
        end
        answered { store.clear }
        answer({ cleared: true }, "Deleted all entries.")
      end

      # The result of a delete does not tell a failure from a missing entry, but the store reports a failure.
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
        say_error "tiercel: #{printable(message)}"
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

      def printable(value) = utf8(value.to_s).gsub(/[[:cntrl:]]/) { |char| char.inspect[1..-2] }

      def clean(data)
        case data
        when Hash then data.to_h { |name, value| [utf8(name.to_s), clean(value)] }
        when Array then data.map { |value| clean(value) }
        when String then utf8(data)
        else data
        end
      end

      def utf8(text) = text.dup.force_encoding(Encoding::UTF_8).scrub("?")
    end
  end
end
