# frozen_string_literal: true

# Stores nothing. For tests of an application without a cache, and for measuring the layers above a backend.
class Tiercel::Backends::Null < Tiercel::Backend
  # @return [Array<Symbol>] names of the options of {.build}
  def self.option_names = []

  # @param _url [BackendURL]
  # @param _options [Hash]
  # @return [Null]
  def self.build(_url, _options) = new

  def get(_key) = nil
  def get_with_token(_key) = nil
  def set(_key, _bytes, _ttl = nil) = true
  def add(_key, _bytes, _ttl = nil) = true
  def compare_exchange(_key, bytes, ttl = nil, _token = nil) = [bytes, nil, ttl]
  def compare_and_set(_key, _bytes, _token, _ttl = nil) = false
  def delete(_key) = false
  def increment(_key, amount = 1, _ttl = nil) = amount
  def touch(_key, _ttl) = false
  def scan(_prefix = nil) = block_given? ? nil : [].each
  def clear(_prefix = nil) = nil
  def stats = { entries: 0, bytes: 0, hits: 0, evictions: 0 }
  def in_memory? = true
  def to_s = "null:"
end
