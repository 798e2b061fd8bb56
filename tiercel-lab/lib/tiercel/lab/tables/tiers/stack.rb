# frozen_string_literal: true

module Tiercel
  module Lab
    module Tables
      module Tiers
        # A contestant with tiers, and the contestants that measure its parts.
        class Stack
          # The `ttl` of copies that outlive the run.
          LONG_SECONDS = 3_600
          # The `ttl` of copies that expire before they are read.
          SHORT_SECONDS = 1e-6
          # The time beyond the copies' `ttl` after which a change counts as unseen.
          PATIENCE_SECONDS = 0.5
          MOST_PATIENCE_SECONDS = 10.0
          # Servers to which the proxy adds distance.
          SERVERS = { redis: "PING\r\n", memcached: "version\r\n" }.freeze
          FILES = %w[sqlite file].freeze
          # Last tiers that send invalidation messages.
          NEWS = %w[redis rediss unix].freeze

          # @return [String] text of the contestant
          attr_reader :text
          # @return [String] the name of its rows
          attr_reader :name

          # @param text [String]
          # @raise [UsageError] if it is no contestant with tiers
          def initialize(text)
            contestant = Contestants.parse(text)
            unless contestant.is_a?(Contestants::TiercelStore) && contestant.tiers.size > 1
              raise UsageError, "store #{text.inspect}: expected tiers, such as \"tiercel:shared: redis:\""
            end
            @text = text
            @name = contestant.name
            @urls = contestant.tiers
            @options = text[/#.*/].to_s
            @server = contestant.servers.first
          end

          # @return [Symbol, nil] the server that the lab starts and whose distance it can simulate
          def server = (@server if SERVERS.key?(@server))

          # @return [Boolean] whether an invalidation message that one process receives counts for its whole machine
          def shares_news?
            @urls[..-2].all? { |url| url.start_with?("shared:") && !url.match?(/[?&]bus=false/) } &&
              NEWS.include?(@urls.last[/\A[^:]+/])
          end

          # @return [Array<Symbol>] the servers that the lab starts
          def servers = [@server].compact

          # @return [Array<String>] "near-alone=...", "near-hit=...", "far-hit=...", "far-alone=...": the near tier with
          #   nothing behind it; the stack with all hits near, and with none; the last tier with nothing in front
          def contestants
            ["near-alone=tiercel:#{without(@urls.first, "ttl")}", "near-hit=#{within(LONG_SECONDS)}",
             "far-hit=#{within(SHORT_SECONDS)}", "far-alone=#{alone}"].map { |each| "#{each}#{@options}" }
          end

          # @param place [String, nil] place of the last tier instead of the lab's own
          # @return [String] the contestant, with another place of its last tier
          def with(place = nil) = "#{joined(@urls[..-2], place)}#{@options}"

          # @param place [String, nil] place of the last tier
          # @return [String] the contestant, with copies that outlive the run
          def long(place = nil) = "#{within(LONG_SECONDS, place)}#{@options}"

          # @return [String] the contestant without a listener, which reads the copies of other processes
          def deaf = "#{joined(with_option("bus=false"), nil)}#{@options}"

          # @return [String] the last tier alone
          def last(place = nil) = "tiercel:#{place || @urls.last}#{@options}"

          # @param folder [String]
          # @return [String, nil] the path of a last tier that is a file, for several machines
          def file_in(folder)
            scheme = @urls.last[/\A\w+/]
            return unless FILES.include?(scheme) && @urls.last.sub(/\?.*/, "") == "#{scheme}:"
            query = @urls.last[/\?.*/].to_s
            scheme == "file" ? "file:#{folder}#{query}" : "sqlite:#{File.join(folder, "cache.sqlite3")}#{query}"
          end

          # @return [Float] seconds that the copies of all near tiers live, one after the other
          def copies_seconds = @urls[..-2].sum { |url| url[/[?&]ttl=([\d.]+)/, 1]&.to_f || 1.0 }

          # @return [Float]
          def patience_seconds = [(copies_seconds * 1.2) + PATIENCE_SECONDS, MOST_PATIENCE_SECONDS].min

          private

          def alone = "tiercel:#{@urls.last}"

          def within(seconds, place = nil)
            joined(with_option("ttl=#{format("%g", seconds)}"), place)
          end

          # Replaces an option of the near URLs.
          def with_option(option)
            @urls[..-2].map do |url|
              bare = without(url, option[/\w+/])
              "#{bare}#{bare.include?("?") ? "&" : "?"}#{option}"
            end
          end

          def joined(near, place) = "tiercel:#{[*near, place || @urls.last].join(" ")}"

          def without(url, option) = url.gsub(/([?&])#{option}=[^&]*(&|\z)/) { $2.empty? ? "" : $1 }
        end
      end
    end
  end
end
