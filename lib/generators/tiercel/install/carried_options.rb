# frozen_string_literal: true

require "tiercel"
require "tiercel/backends"
require "tiercel/backends/remote/options"
require "tiercel/configuration"

module Tiercel
  module Generators
    # The options of the current store that have the same meaning in Tiercel, under Tiercel's names. Options that
    # Tiercel does not have are dropped and listed in the notes.
    #
    # @private
    class CarriedOptions
      # Options of Rails and Solid Cache that have another name in Tiercel.
      RENAMED = { read_timeout: :timeout, socket_timeout: :timeout, max_size: :size, max_age: :expires_in }.freeze
      # Options that Tiercel does not need, with the reason.
      NOT_NEEDED = {
        connect_timeout: "`timeout` limits the whole call, including connecting",
        write_timeout: "`timeout` limits the whole call",
        max_prune_time: "a write does a bounded amount of work",
        expiry_method: "Tiercel evicts with each write, without a thread or a job",
        expiry_queue: "Tiercel evicts with each write, without a thread or a job",
        expiry_batch_size: "Tiercel evicts with each write, without a thread or a job",
        max_key_bytesize: "`max_key_size` is the counterpart, 250 bytes by default",
        clear_with: "`clear` deletes entries in short transactions",
        active_record_instrumentation: "Tiercel does not use Active Record",
        size_estimate_samples: "Tiercel counts exactly",
      }.freeze
      # Options of the remote backends, whose gem is missing until the next `bundle install`.
      REMOTE = Backends::Remote::Options::NAMES
      WITHOUT_GEM = {
        "sqlite" => %i[size max_entries timeout], "memcached" => REMOTE,
        "redis" => REMOTE + %i[username password db driver ssl_params sentinels name role],
      }.freeze
      private_constant :RENAMED, :NOT_NEEDED, :REMOTE, :WITHOUT_GEM

      # @return [Array<String>] a sentence for each dropped option
      attr_reader :notes

      # @param given [Hash{Symbol => String}] Ruby source of the values
      # @param schemes [Array<String>] schemes of the new store's URLs
      # @param used [Array<Symbol>] options that are already part of the URL
      def initialize(given, schemes, used: [])
        @given = given.except(*used)
        @known = known(schemes)
        @notes = []
      end

      # @return [Hash{Symbol => String}]
      def to_h
        @to_h ||= @given.each_with_object({}) do |(name, source), kept|
          ours = RENAMED.fetch(name, name)
          next kept[ours] ||= source if known?(ours) && !(ours != name && @given.key?(ours))
          @notes << "#{name}: dropped. #{reason(name, ours)}."
        end
      end

      private

      def known?(name) = @known.include?(name)

      def known(schemes)
        schemes.flat_map { |scheme| names_of(scheme) }.uniq + Configuration::STORE_OPTIONS +
          Configuration::RAILS_OPTIONS + ActiveSupport::Cache::OPTION_ALIASES.values.flatten - NOT_NEEDED.keys
      end

      # Ignores an unknown backend; booting the application reports it.
      def names_of(scheme)
        Backends::REGISTRY.fetch(scheme).option_names
      rescue MissingDependency
        WITHOUT_GEM.fetch(scheme, WITHOUT_GEM["redis"])
      rescue ConfigurationError
        []
      end

      def reason(name, ours)
        return "`#{ours}` is set already" if ours != name && known?(ours)
        hint = NOT_NEEDED[name] || (OptionHints::HABITS[name] unless ours != name)
        hint ? hint.dup.tap { |text| text[0] = text[0].upcase } : "Tiercel has no such option for this backend"
      end
    end
  end
end
