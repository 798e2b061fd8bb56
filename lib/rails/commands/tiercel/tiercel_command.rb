# frozen_string_literal: true

require "json"
require "rails/command"
require "rails/command/environment_argument"

module Rails
  module Command
    # Commands for the application's cache, such as `bin/rails tiercel:doctor` (docs/observability.md).
    class TiercelCommand < Base
      include EnvironmentArgument

      class_option :json, type: :boolean, default: false, desc: "Print JSON"

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
        say options[:json] ? json(figures) : lines(figures)
      end

      desc "top", "Watch the cache: rates, tier by tier, and the key classes whose misses cost most"
      method_option :day, type: :boolean, default: false, desc: "Key classes of the last day instead of the last hour"
      method_option :interval, type: :numeric, default: 2, desc: "Seconds between two screens"
      def top(*)
        account = cache.respond_to?(:account) ? cache.account : refuse("#{cache.class} has no account")
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
        deleted = cache.delete(key)
        answer({ key:, deleted: }, deleted ? "Deleted #{printable(key)}." : "#{printable(key)} does not exist.")
      end

      desc "clear [PREFIX]", "Delete every entry whose key begins with PREFIX; without PREFIX all of them"
      method_option :yes, type: :boolean, default: false, desc: "Do not ask for confirmation"
      def clear(prefix = nil)
        return clear_all if prefix.nil?
        ours = cache.respond_to?(:backend)
        count = cache.delete_matched(ours ? "#{::Tiercel::Store::Glob.escape(prefix)}*" : /\A#{Regexp.escape(prefix)}/)
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
        boot_application!
        Rails.cache
      end

      def entry(key)
        refuse("#{cache.class} cannot report the location of entries") unless cache.respond_to?(:stored_key)
        require "tiercel/entry_report"
        ::Tiercel::EntryReport.new(cache, key).to_h
      rescue ::Tiercel::BackendError => error
        refuse(error.message)
      end

      def clear_all
        store = cache
        whole = "every entry of #{store.respond_to?(:backend) ? store.backend : store.class}"
        unless options[:yes] || ($stdin.tty? && yes?("Delete #{whole}? [y/N]"))
          refuse("this deletes #{whole}: confirm with --yes, or give a PREFIX")
        end
        store.clear
        answer({ cleared: true }, "Deleted all entries.")
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
