# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      # The options of tables, and the values that the user gave.
      module Options
        private

        def store_option(parser, default:)
          parser.on("--store STORE", "repeatable; default: #{default}") do |text|
            (@stores ||= []) << Contestants.parse(text)
          end
        end

        def value_option(parser, default: nil)
          parser.on("--value A,B", Array, "see `help values`#{"; default: #{default}" if default}") do |names|
            (@values ||= []).concat(names.map { |name| Values.fetch(name) })
          end
        end

        def parse_all(texts) = texts.map { |text| Contestants.parse(text) }

        # @param standard [Array<String>] the default names
        # @return [Array<Value>] the user's files and the named values
        def chosen_values(standard, parse: false)
          return [Values::Files.new(directory: settings.data, parse:), *@values] if settings.data
          @values || standard.map { |name| Values.fetch(name) }
        end

        # Declares an option that sets one member of the table's design. An option that ends with `A,B` takes a list.
        #
        #   fact parser, "--workers A,B", "how many (1,2,4,8)", :counts, :count
        #
        # @param name [Symbol] the member's name
        # @param kind [Symbol] :number, :zero (a number that may be 0), :count, :workers or :size
        def fact(parser, option, words, name, kind)
          flag = option[/\A\S+/]
          list = option.end_with?("A,B")
          parser.on(option, *(Array if list), words) do |given|
            values = Array(given).map { |text| cast(text, flag, kind) }
            facts_given[name] = list ? values : values.first
          end
        end

        # An option that names some of a table's own stores or pages.
        #
        # @param all [Hash, Array<String>]
        def names(parser, option, all, name)
          known = all.respond_to?(:keys) ? all.keys : all
          parser.on("#{option} A,B", Array, "of #{known.join(", ")}") do |given|
            unknown = given.find { |one| !known.include?(one) }
            raise UsageError, Catalogue.unknown("#{option}:", unknown, known) if unknown
            facts_given[name] = [*facts_given[name], *given].uniq
          end
        end

        # @return [Hash{Symbol => Object}] the user's values, by the name of the design's member
        def facts_given = @facts_given ||= {}

        # @return [Data] the quick or the full design, with the user's values
        def designed(design, **more)
          (settings.quick ? design::QUICK : design::FULL).with(**facts_given, **more.compact)
        end

        def cast(text, flag, kind)
          return Values::SizedHTML.parse(text).approximate_bytes if kind == :size
          found = number(text, flag, zero: kind == :zero)
          return found unless %i[count workers].include?(kind)
          raise UsageError, "#{flag} #{text}: expected a whole number" unless found == found.floor
          kind == :workers ? Answer::Constraints.count(:workers, found.to_i) : found.to_i
        end

        # @param zero [Boolean] whether it may be 0
        # @return [Float]
        def number(text, option, zero: false)
          number = Float(text, exception: false)
          return number if number&.finite? && (zero ? number >= 0 : number.positive?)
          raise UsageError, "#{option} #{text}: expected a number #{zero ? ">=" : ">"} 0"
        end

        # An option that names things of a catalogue.
        #
        # @param catalogue [Catalogue]
        # @param words [String] description, for help
        def things(parser, option, catalogue, name, words)
          parser.on("#{option} A,B", Array, words) do |given|
            facts_given[name] = [*facts_given[name], *given.map { |one| catalogue.fetch(one) }].uniq
          end
        end
      end
    end
  end
end
