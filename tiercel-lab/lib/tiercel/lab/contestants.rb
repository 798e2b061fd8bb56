# frozen_string_literal: true

require_relative "contestant"
require_relative "store_options"

module Tiercel
  module Lab
    # The contestants that the lab knows, by type; each registers itself in a file of
    # `contestants/`, or in one that is given to `--require`:
    #
    #   class MyStore < Tiercel::Lab::Contestant
    #     def build(context) = My::Store.new(path: context.directory)
    #   end
    #   Tiercel::Lab::Contestants.register("my_store", MyStore)
    module Contestants
      @types = {}

      # What a user of Rails knows, and Tiercel.
      DEFAULT = %w[memory_store file_store:tmpfs file_store:disk mem_cache_store redis_cache_store tiercel].freeze

      FORM = /\A(?:(?<name>[\w.-]+)=)?(?<type>\w+)(?::(?<place>[^#]*))?(?:#(?<options>.*))?\z/

      # Which Rails store speaks to a URL that is given without a type.
      URL_TYPES = { "memcached" => "mem_cache_store", "redis" => "redis_cache_store",
                    "rediss" => "redis_cache_store" }.freeze
      # URLs that only Tiercel knows.
      TIERCEL_SCHEMES = %w[shared memory sqlite file].freeze

      class << self
        # @param type [String]
        # @param contestant_class [Class<Contestant>]
        # @return [void]
        def register(type, contestant_class) = @types[type] = contestant_class

        # @param text [String] [NAME=]TYPE[:PLACE][#OPTIONS], or [NAME=]URL
        # @return [Contestant]
        # @raise [UsageError] if it is not of that form, or the type is not known
        def parse(text)
          match = FORM.match(text)
          unless match
            raise UsageError, "store #{text.inspect}: expected TYPE[:PLACE][#OPTION=VALUE,...]. Types: #{known}"
          end
          type, place = type_and_place(match)
          contestant = @types[type] or raise UsageError, "store #{text.inspect} is not known. Known: #{known}"
          contestant.new(text:, name: match[:name] || text, place:, options: StoreOptions.parse(match[:options].to_s))
        end

        # @return [String] for messages
        def known = (DEFAULT + @types.keys + %w[tiercel:URL file_store:DIR]).uniq.join(", ")

        private

        def type_and_place(match)
          place = match[:place].to_s
          return ["tiercel", "#{match[:type]}:#{place}"] if match[:place] && TIERCEL_SCHEMES.include?(match[:type])
          rails_store = URL_TYPES[match[:type]] if place.start_with?("//")
          return [match[:type], place] unless rails_store
          [rails_store, rails_store == "mem_cache_store" ? place.delete_prefix("//") : "#{match[:type]}:#{place}"]
        end
      end

      Dir[File.join(__dir__, "contestants", "*.rb")].sort.each { |file| require file }
    end
  end
end
